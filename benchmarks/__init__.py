"""Figures: speed and safety, side by side with the peers."""
