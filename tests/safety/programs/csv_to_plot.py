"""Read measurements from a CSV file and plot a moving average."""

import csv
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

source = Path("measurements.csv")
if not source.exists():
    with source.open("w", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(["day", "value"])
        for day in range(1, 31):
            writer.writerow([day, (day * 37) % 11 + day / 3])

with source.open(newline="") as handle:
    rows = [(int(row["day"]), float(row["value"])) for row in csv.DictReader(handle)]

window = 5
days = [day for day, _ in rows]
values = [value for _, value in rows]
smooth = [sum(values[max(0, i - window + 1) : i + 1]) / min(i + 1, window) for i in range(len(values))]

figure, axes = plt.subplots(figsize=(8, 4))
axes.plot(days, values, "o", label="measured")
axes.plot(days, smooth, label=f"mean of {window}")
axes.legend()
figure.savefig("plot.png", dpi=120)
print(f"{len(rows)} rows, plot in plot.png")
