"""Describe a survey: group by sex and age, fill gaps, join two tables."""

import io

import pandas as pd

people = pd.read_csv(
    io.StringIO(
        """id,sex,age,height
1,female,34,170
2,male,29,
3,female,51,162
4,male,45,181
"""
    )
)
answers = pd.DataFrame({"id": [1, 2, 3, 3], "question": ["a", "a", "a", "b"], "value": [3, 4, 2, 5]})

people["height"] = people["height"].fillna(people.groupby("sex")["height"].transform("mean"))
people["group"] = pd.cut(people["age"], [0, 30, 50, 120], labels=["young", "middle", "old"])
women = people[people["sex"] == "female"]
print(f"{len(women)} women, mean age {women['age'].mean():.1f}")
print(people.groupby("sex").agg(n=("id", "count"), height=("height", "mean")))
print(people.merge(answers, on="id", how="left").pivot_table(index="group", values="value", observed=True))
people.to_csv("people_clean.csv", index=False)


def body_mass_rate(gender: str, kilos: float, centimetres: float, years: int) -> float:
    if gender == "male":
        return 88.4 + 13.4 * kilos + 4.8 * centimetres - 5.7 * years
    return 447.6 + 9.2 * kilos + 3.1 * centimetres - 4.3 * years


print(round(body_mass_rate("female", 60, 170, 34)))
