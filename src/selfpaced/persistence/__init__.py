"""Model files: save and load models without running code from a file, and read their cards."""

from selfpaced.persistence.card import ModelCard, Said, card_as_json, card_of
from selfpaced.persistence.files import (
    load_ensemble,
    load_model,
    model_bytes,
    read_card,
    read_model,
    save_model,
    trusted_types,
)

__all__ = ["ModelCard", "load_model", "read_card", "save_model", "trusted_types"]
