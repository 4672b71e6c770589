"""Model files: save and load models without running code from a file, and read their cards."""

from __future__ import annotations

from selfpaced.persistence.card import ModelCard, RoundSummary
from selfpaced.persistence.loading import load_ensemble, load_model, read_card
from selfpaced.persistence.saving import save_model
from selfpaced.safe_files.trusted import trusted_types

__all__ = ["ModelCard", "RoundSummary", "load_ensemble", "load_model", "read_card", "save_model", "trusted_types"]
