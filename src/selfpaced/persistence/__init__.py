"""Model files: save and load models without running code from a file, and read their cards."""

from selfpaced.persistence.card import ModelCard, Said, card_as_json, card_of
from selfpaced.persistence.files import (
    id_of_file,
    load_ensemble,
    load_model,
    model_bytes,
    read_card,
    read_ensemble,
    read_model,
    save_model,
    trusted_types,
)
from selfpaced.persistence.markdown import card_as_markdown
from selfpaced.persistence.record import DataRecord, Promotion, TrainingRecord, model_id

__all__ = ["ModelCard", "load_model", "read_card", "save_model", "trusted_types"]
