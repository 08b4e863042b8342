"""Find dates, mail addresses and the most frequent words of a text."""

import re
from collections import Counter

TEXT = """
On 2024-03-01 Ana (ana@example.org) met Bo. Bo wrote to team@example.com on 2024-03-05:
"Please review the draft, click through the slides, and update the account of the day."
"""

dates = re.findall(r"\b(\d{4})-(\d{2})-(\d{2})\b", TEXT)
mails = re.findall(r"[\w.+-]+@[\w-]+\.[\w.]+", TEXT)
words = Counter(word.lower() for word in re.findall(r"[A-Za-z']{3,}", TEXT))
clean = re.sub(r"\s+", " ", TEXT).strip()

print("dates:", ["/".join(parts) for parts in dates])
print("mails:", sorted(set(mails)))
for word, count in words.most_common(5):
    print(f"{word:10} {'#' * count}")
print(len(clean), "characters")
