"""The terminal: the chat, what is shown, what is typed, and the commands of the command line."""
