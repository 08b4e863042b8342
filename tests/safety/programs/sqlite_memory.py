"""A small library in an SQLite database in memory."""

import sqlite3

connection = sqlite3.connect(":memory:")
connection.row_factory = sqlite3.Row
connection.executescript(
    """
    CREATE TABLE author (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
    CREATE TABLE book (id INTEGER PRIMARY KEY, author INTEGER REFERENCES author, title TEXT, year INTEGER);
    """
)
connection.executemany("INSERT INTO author (id, name) VALUES (?, ?)", [(1, "Le Guin"), (2, "Lem")])
connection.executemany(
    "INSERT INTO book (author, title, year) VALUES (?, ?, ?)",
    [(1, "The Dispossessed", 1974), (2, "Solaris", 1961), (2, "The Cyberiad", 1965)],
)
connection.commit()


def books_of(name: str) -> list[sqlite3.Row]:
    query = "SELECT title, year FROM book JOIN author ON author.id = book.author WHERE author.name = ? ORDER BY year"
    return connection.execute(query, (name,)).fetchall()


for row in books_of("Lem"):
    print(row["year"], row["title"])
connection.execute("DELETE FROM book WHERE year < ?", (1962,))
print(connection.execute("SELECT count(*) FROM book").fetchone()[0], "left")
connection.close()
