"""A to-do list that keeps itself in a pickle of its own."""

import pickle
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

STORE = Path("todo.pickle")


@dataclass
class Task:
    title: str
    due: date
    done: bool = False


@dataclass
class TodoList:
    tasks: list[Task] = field(default_factory=list)

    def add(self, title: str, due: date) -> None:
        self.tasks.append(Task(title, due))

    def open_tasks(self) -> list[Task]:
        return sorted((task for task in self.tasks if not task.done), key=lambda task: task.due)

    def save(self) -> None:
        with STORE.open("wb") as handle:
            pickle.dump(self, handle)

    @classmethod
    def load(cls) -> "TodoList":
        if not STORE.exists():
            return cls()
        with STORE.open("rb") as handle:
            return pickle.load(handle)


todo = TodoList.load()
todo.add("write the report", date(2024, 5, 1))
todo.add("water the plants", date(2024, 4, 20))
todo.tasks[0].done = True
todo.save()
for task in TodoList.load().open_tasks():
    print(task.due, task.title)
