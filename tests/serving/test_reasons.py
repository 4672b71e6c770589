"""Why a row has its score, as the service answers it."""

from selfpaced import load_model


def test_the_reasons_of_a_row_are_those_of_the_scorer(service, folder, rows):
    want = load_model(folder / "model.skops").row_scorer().reasons(rows[0], top=4)
    status, answer = service.post("/score?reasons=4", rows[0])
    assert status == 200
    assert [one["text"] for one in answer["reasons"]] == [str(one) for one in want]
    assert [one["log_odds"] for one in answer["reasons"]] == [one.log_odds for one in want]
