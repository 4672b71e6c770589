from selfpaced.pools import keys as reserved_rounds

RESERVED = {name: value for name, value in vars(reserved_rounds).items() if name.endswith("_ROUND")}


def test_reserved_rounds_keep_their_numbers():
    assert RESERVED == {
        "HOLDOUT_ROUND": 4_294_967_296,
        "TABLE_SAMPLE_ROUND": 8_589_934_592,
        "CALIBRATION_SAMPLE_ROUND": 8_589_934_593,
        "WORKING_SAMPLE_ROUND": 8_589_934_594,
        "RECIPE_FOLDS_ROUND": 8_589_934_595,
        "FOLDS_ROUND": 17_179_869_184,
    }


def test_reserved_rounds_differ_from_each_other_and_from_all_rounds_of_a_fit():
    assert len(set(RESERVED.values())) == len(RESERVED)
    assert min(RESERVED.values()) >= 2**32


def test_the_folds_of_no_member_meet_another_reserved_round():
    assert max(RESERVED.values()) == reserved_rounds.FOLDS_ROUND
