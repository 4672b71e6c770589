"""Models in files: saved whole, loaded without running what they say, described by a card."""

from __future__ import annotations

from selfpaced.persistence.card import ModelCard, RoundSummary
from selfpaced.persistence.loading import load_model, read_card
from selfpaced.persistence.saving import save_model

__all__ = ["ModelCard", "RoundSummary", "load_model", "read_card", "save_model"]
