"""How people reach a team. Interfaces receive events and supply one `ask`; nothing below them prints."""
