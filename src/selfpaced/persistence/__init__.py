"""Model files: save and load models without running code from a file, and read their cards."""

from selfpaced.persistence.card import ModelCard, Said, card_as_json, card_of
from selfpaced.persistence.loading import load_ensemble, load_model, read_card, read_model, trusted_types
from selfpaced.persistence.saving import model_bytes, save_model

__all__ = ["ModelCard", "load_model", "read_card", "save_model", "trusted_types"]
