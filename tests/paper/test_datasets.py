"""The loaders read the published formats and the stand-ins, and the published files are preferred."""

from __future__ import annotations

import csv
import gzip
import zipfile
from dataclasses import replace
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import average_precision_score

from paper.datasets import DATASETS, credit_fraud, kddcup99, split_in_order, unused
from paper.datasets.checkerboard import MINORITY_SHARE, bayes_scores, checkerboard
from paper.datasets.payment_simulation import FEATURES, MONEY
from tests.requirements import data_file

PUBLISHED = Path(__file__).parents[2] / "paper" / "published"

# KDD Cup 99: five rows of 41 features and a label with a dot. The zeros are what the file has most of.
NORMAL = "0,tcp,http,SF,181,5450," + "0," * 16 + "8,8," + "0.00," * 4 + "1.00,0.00,0.00,9,9,1.00" + ",0.00" * 7
CONNECTIONS = [
    NORMAL + ",normal.",
    NORMAL.replace("tcp,http", "icmp,ecr_i") + ",smurf.",
    NORMAL.replace("tcp,http,SF", "tcp,private,S0") + ",neptune.",
    NORMAL.replace("0,tcp,http", "7,udp,private") + ",satan.",
    NORMAL.replace("0,tcp,http", "9,tcp,ftp_data") + ",warezclient.",
    NORMAL + ",rootkit.",
]

PAIRS_HEADER = (
    '"id_1","id_2","cmp_fname_c1","cmp_fname_c2","cmp_lname_c1","cmp_lname_c2",'
    '"cmp_sex","cmp_bd","cmp_bm","cmp_by","cmp_plz","is_match"'
)
MATCH = "37291,53113,0.833333333333333,?,1,?,1,1,1,1,0,TRUE"
NO_MATCH = "39086,47614,1,?,0.25,0.5,1,0,1,?,?,FALSE"

PAYMENTS = """step,type,amount,nameOrig,oldbalanceOrg,newbalanceOrig,nameDest,oldbalanceDest,newbalanceDest,isFraud,isFlaggedFraud
1,PAYMENT,9839.64,C1231006815,170136.0,160296.36,M1979787155,0.0,0.0,0,0
1,TRANSFER,181.0,C1305486145,181.0,0.0,C553264065,0.0,0.0,1,0
2,CASH_OUT,181.0,C840083671,181.0,0.0,C38997010,21182.0,0.0,1,0
3,"CASH_IN",25.5,C1,0.0,25.5,C2,30.0,4.5,0,0
742,TRANSFER,6311409.28,C1529008245,6311409.28,6311409.28,C1881841831,0.0,0.0,1,1
"""  # noqa: E501


@pytest.fixture
def no_network(monkeypatch):
    def unreachable(**options):
        raise OSError("the network is down")

    monkeypatch.setattr(credit_fraud, "fetch_openml", unreachable)
    monkeypatch.setattr(kddcup99, "fetch_kddcup99", unreachable)


def of_any_size(name):
    return replace(DATASETS[name], expected=None)


def write_connections(path):
    text = "\n".join(CONNECTIONS) + "\n"
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    elif path.suffix == ".parquet":
        frame = pd.DataFrame([line.split(",") for line in CONNECTIONS], columns=kddcup99.COLUMNS)
        names = [*kddcup99.CATEGORIES, "label"]
        numbers = frame.columns.difference(names)
        kinds = {**dict.fromkeys(numbers, float), **dict.fromkeys(names, "category")}
        frame.astype(kinds).to_parquet(path)
    else:
        path.write_text(text)


def write_blocks(folder, zipped=()):
    for number in range(1, 11):
        rows = [PAIRS_HEADER, NO_MATCH, *[MATCH] * (number == 4)]
        if number in zipped:
            with zipfile.ZipFile(folder / f"block_{number}.zip", "w") as archive:
                archive.writestr(f"block_{number}.csv", "\n".join(rows))
        else:
            (folder / f"block_{number}.csv").write_text("\n".join(rows))


# What is registered


def test_the_names_are_the_keys_and_no_title_is_there_twice():
    assert all(name == dataset.name for name, dataset in DATASETS.items())
    assert len({dataset.title for dataset in DATASETS.values()}) == len(DATASETS)


def test_the_expected_counts_are_the_papers():
    with (PUBLISHED / "statistics.csv").open(encoding="utf-8", newline="") as file:
        published = list(csv.DictReader(file))
    assert len(published) == 5
    for row in published:
        expected = DATASETS[row["dataset"]].expected
        assert expected.n_rows == int(row["n_rows"])
        # For Credit Fraud alone the paper divides all rows by the positives, not the negatives.
        surplus = 1 if row["dataset"] == "credit-fraud" else 0
        assert f"{expected.imbalance_ratio + surplus:.2f}" == row["imbalance_ratio"]


def test_what_is_not_the_papers_data_says_so():
    differing = {name for name, dataset in DATASETS.items() if dataset.differs}
    assert differing == {
        "kddcup-dos-prb-10%",
        "kddcup-dos-r2l-10%",
        "febrl-pairs",
        "paysim-simulated",
    }


@pytest.mark.parametrize(
    ("name", "here", "there"),
    [("kddcup-dos-prb-10%", "95.31:1", "94.48:1"), ("kddcup-dos-r2l-10%", "347.65:1", "3448.82:1")],
)
def test_the_ten_percent_file_gives_its_own_imbalance_and_the_papers(name, here, there):
    assert here in DATASETS[name].differs
    assert there in DATASETS[name].differs


@pytest.mark.parametrize("name", ["febrl-pairs", "paysim-simulated"])
def test_a_stand_in_says_that_its_rows_are_not_the_published_ones(name):
    dataset = DATASETS[name]
    assert dataset.title in {"FEBRL pairs", "PaySim, simulated again"}
    assert "not the published ones" in dataset.differs
    for counts in (dataset.expected, DATASETS[dataset.stands_for].expected):
        assert f"{counts.n_rows:,}" in dataset.differs


@pytest.mark.parametrize(
    ("name", "file", "source"),
    [
        ("credit-fraud", "creditcard.csv", "OpenML"),
        ("kddcup-dos-prb", "kddcup.data.gz", "UCI"),
        ("kddcup-dos-r2l-10%", "kddcup99_10_percent.parquet", "UCI"),
        ("record-linkage", "block_1.csv", "UCI"),
        ("payment-simulation", "PS_20174392719_1491204439457_log.csv", "Kaggle"),
    ],
)
def test_a_missing_file_is_named_with_its_source_and_the_setting(name, file, source, tmp_path, no_network):
    with pytest.raises(FileNotFoundError) as error:
        DATASETS[name].read(tmp_path)
    for part in [file, source, "SELFPACED_DATA", str(tmp_path)]:
        assert part in str(error.value)


@pytest.mark.parametrize("name", ["credit-fraud", "kddcup-dos-prb", "kddcup-dos-prb-10%"])
def test_where_the_network_was_tried_the_message_says_why_it_failed(name, tmp_path, no_network):
    with pytest.raises(FileNotFoundError, match="the network is down"):
        DATASETS[name].read(tmp_path)


# Credit Fraud


def test_credit_fraud_is_read_from_the_published_csv(tmp_path):
    (tmp_path / "creditcard.csv").write_text('"Time","V1","Amount","Class"\n0,-1.5,149.62,"0"\n7,2.25,0,"1"\n')
    X, y = of_any_size("credit-fraud").read(tmp_path)
    np.testing.assert_array_equal(X, np.float32([[0, -1.5, 149.62], [7, 2.25, 0]]))
    assert y.tolist() == [0, 1]


def test_the_real_credit_fraud_has_30_features_and_492_frauds(credit_fraud_path):
    X, y = DATASETS["credit-fraud"].read(credit_fraud_path.parent)
    assert X.shape == (284_807, 30)
    assert y.sum() == 492


# KDD Cup 99


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("kddcup-dos-prb-10%", "kddcup99_10_percent.parquet"),
        ("kddcup-dos-prb-10%", "kddcup.data_10_percent"),
        ("kddcup-dos-prb-10%", "kddcup.data_10_percent.gz"),
        ("kddcup-dos-prb", "kddcup.data"),
        ("kddcup-dos-prb", "kddcup.data.gz"),
    ],
)
def test_every_published_form_of_kddcup_gives_the_same_rows(name, file, tmp_path, no_network):
    write_connections(tmp_path / file)
    X, y = of_any_size(name).read(tmp_path)
    assert X.dtype == np.float32
    assert X.shape == (3, 41)
    assert y.tolist() == [0, 0, 1]
    # Duration, protocol (icmp, tcp, udp), service (ecr_i, ftp_data, http, private), flag (S0, SF) and bytes.
    assert X[:, :6].tolist() == [[0, 0, 0, 1, 181, 5450], [0, 1, 3, 0, 181, 5450], [7, 2, 3, 1, 181, 5450]]


def test_the_other_task_takes_the_same_common_rows_and_other_rare_ones(tmp_path):
    write_connections(tmp_path / "kddcup.data")
    X, y = of_any_size("kddcup-dos-r2l").read(tmp_path)
    assert X[:, :4].tolist() == [[0, 0, 0, 1], [0, 1, 3, 0], [9, 1, 1, 1]]
    assert y.tolist() == [0, 0, 1]


@pytest.mark.parametrize(("name", "percent10"), [("kddcup-dos-prb", False), ("kddcup-dos-prb-10%", True)])
def test_without_a_file_scikit_learn_is_asked_for_the_right_edition(name, percent10, tmp_path, monkeypatch):
    def fetch(**options):
        assert options == {"percent10": percent10, "as_frame": True}
        rows = [line.split(",") for line in CONNECTIONS]
        names = [*kddcup99.COLUMNS[:-1], "labels"]
        frame = pd.DataFrame(rows, columns=names).astype(object)
        for column in [*kddcup99.CATEGORIES, "labels"]:  # scikit-learn leaves names as bytes
            frame[column] = [text.encode() for text in frame[column]]
        return SimpleNamespace(frame=frame)

    monkeypatch.setattr(kddcup99, "fetch_kddcup99", fetch)
    X, y = of_any_size(name).read(tmp_path)
    assert X[:, :4].tolist() == [[0, 0, 0, 1], [0, 1, 3, 0], [7, 2, 3, 1]]
    assert y.tolist() == [0, 0, 1]


def test_a_kddcup_file_cut_short_does_not_pass(tmp_path):
    write_connections(tmp_path / "kddcup.data")
    with pytest.raises(ValueError, match=r"3,924,472 rows with 41,102 positives, but the files hold 3 with 1"):
        DATASETS["kddcup-dos-prb"].read(tmp_path)


@pytest.mark.parametrize(("name", "rare"), [("kddcup-dos-prb-10%", 4107), ("kddcup-dos-r2l-10%", 1126)])
def test_the_real_ten_percent_file_has_the_attacks_of_its_description(name, rare, kddcup_path):
    X, y = DATASETS[name].read(kddcup_path.parent)
    assert X.shape == (391_458 + rare, 41)
    assert y.sum() == rare
    assert np.isfinite(X).all()


# Record Linkage


@pytest.mark.parametrize("zipped", [[], [3, 4, 10]])
def test_record_linkage_is_read_from_ten_blocks_with_question_marks(zipped, tmp_path):
    write_blocks(tmp_path, zipped)
    X, y = of_any_size("record-linkage").read(tmp_path)
    assert X.dtype == np.float32
    assert y.tolist() == [0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]  # the match is in the fourth block
    nan = np.nan
    np.testing.assert_array_equal(X[4], np.float32([0.833333333333333, nan, 1, nan, 1, 1, 1, 1, 0]))
    np.testing.assert_array_equal(X[0], np.float32([1, nan, 0.25, 0.5, 1, 0, 1, nan, nan]))


def test_a_missing_block_is_named(tmp_path):
    write_blocks(tmp_path)
    (tmp_path / "block_7.csv").unlink()
    with pytest.raises(FileNotFoundError, match=r"block_7\.csv, block_7\.zip"):
        DATASETS["record-linkage"].read(tmp_path)


def test_blocks_with_too_few_pairs_do_not_pass(tmp_path):
    write_blocks(tmp_path)
    with pytest.raises(ValueError, match=r"5,749,132 rows with 20,931 positives, but the files hold 11 with 1"):
        DATASETS["record-linkage"].read(tmp_path)


# Payment Simulation


@pytest.mark.parametrize(
    "file", ["PS_20174392719_1491204439457_log.csv", "payment_simulation.csv", "payment_simulation.parquet"]
)
def test_payments_are_read_without_the_names_of_the_parties(file, tmp_path):
    (tmp_path / file).write_text(PAYMENTS)
    if file.endswith(".parquet"):
        frame = pd.read_csv(tmp_path / file)
        frame.to_parquet(tmp_path / file)
    X, y = of_any_size("payment-simulation").read(tmp_path)
    assert X.dtype == np.float32
    # Types in sorted order: CASH_IN, CASH_OUT, PAYMENT, TRANSFER.
    expected = [
        [1, 2, 9839.64, 170136, 160296.36, 0, 0, 0],
        [1, 3, 181, 181, 0, 0, 0, 0],
        [2, 1, 181, 181, 0, 21182, 0, 0],
        [3, 0, 25.5, 0, 25.5, 30, 4.5, 0],
        [742, 3, 6311409.28, 6311409.28, 6311409.28, 0, 0, 1],
    ]
    np.testing.assert_array_equal(X, np.float32(expected))
    assert y.tolist() == [0, 1, 1, 0, 1]


def test_payments_of_another_number_do_not_pass(tmp_path):
    (tmp_path / "payment_simulation.csv").write_text(PAYMENTS)
    with pytest.raises(ValueError, match=r"6,362,620 rows with 8,213 positives, but the files hold 5 with 3"):
        DATASETS["payment-simulation"].read(tmp_path)


# Stand-ins: files of the same form as the published ones, with other rows


def write_simulated_payments(folder):
    """The payments above as the simulator's file has them: cents, a code for the recipient, no payer."""
    frame = pd.read_csv(StringIO(PAYMENTS)).drop(columns=["nameOrig", "nameDest"])
    for name in MONEY:
        frame[f"{name}_cents"] = (100 * frame.pop(name)).round().astype(np.int64)
    frame.assign(nameDestCode=0, type=frame["type"].astype("category")).to_parquet(folder / "paysim_simulated.parquet")


def write_febrl_pairs(folder):
    header = PAIRS_HEADER.replace('"', "").replace("cmp_sex", "cmp_state").split(",")
    frame = pd.DataFrame([line.split(",") for line in (NO_MATCH, MATCH)], columns=header).replace("?", None)
    comparisons = [name for name in header if name.startswith("cmp_")]
    frame = frame.astype(dict.fromkeys(comparisons, float))
    frame.assign(is_match=frame["is_match"] == "TRUE").to_parquet(folder / "febrl_pairs.parquet")


def test_payments_simulated_again_are_the_same_columns_in_money_instead_of_cents(tmp_path):
    (tmp_path / "payment_simulation.csv").write_text(PAYMENTS)
    write_simulated_payments(tmp_path)
    published = of_any_size("payment-simulation").read(tmp_path)
    again = of_any_size("paysim-simulated").read(tmp_path)
    np.testing.assert_array_equal(again[0], published[0])
    np.testing.assert_array_equal(again[1], published[1])
    assert (again[0].dtype, again[1].dtype) == (np.float32, np.int8)


def test_febrl_pairs_have_the_state_in_the_place_of_the_sex(tmp_path):
    write_febrl_pairs(tmp_path)
    X, y = of_any_size("febrl-pairs").read(tmp_path)
    nan = np.nan
    expected = [[1, nan, 0.25, 0.5, 1, 0, 1, nan, nan], [0.833333333333333, nan, 1, nan, 1, 1, 1, 1, 0]]
    np.testing.assert_array_equal(X, np.float32(expected))
    assert y.tolist() == [0, 1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "n_features", "missing"), [("paysim-simulated", len(FEATURES), False), ("febrl-pairs", 9, True)]
)
def test_the_real_stand_ins_have_the_rows_that_are_said(name, n_features, missing):
    folder = data_file(DATASETS[name].files[0]).parent
    X, y = DATASETS[name].read(folder)
    assert X.shape == (DATASETS[name].expected.n_rows, n_features)
    assert y.sum() == DATASETS[name].expected.n_positives
    assert np.isnan(X).any() == missing


@pytest.mark.parametrize(
    ("published", "stand_in", "file"),
    [
        ("payment-simulation", "paysim-simulated", "PS_20174392719_1491204439457_log.csv"),
        ("record-linkage", "febrl-pairs", "block_3.zip"),
        ("kddcup-dos-r2l", "kddcup-dos-r2l-10%", "kddcup.data.gz"),
    ],
)
def test_a_stand_in_runs_only_where_the_published_file_is_missing(published, stand_in, file, tmp_path):
    assert published in unused(tmp_path)
    assert stand_in not in unused(tmp_path)
    (tmp_path / file).touch()
    assert published not in unused(tmp_path)
    assert stand_in in unused(tmp_path)


def test_without_any_file_the_message_names_the_stand_in_and_the_source_of_the_published_one(tmp_path):
    for name, source in [("paysim-simulated", "Kaggle"), ("febrl-pairs", "UCI")]:
        with pytest.raises(FileNotFoundError) as error:
            DATASETS[name].read(tmp_path)
        assert DATASETS[name].files[0] in str(error.value)
        assert source in str(error.value)


# Splits


def test_by_time_no_row_of_training_is_later_than_one_of_testing():
    step = np.repeat(np.arange(10, dtype=np.float32), [5, 1, 9, 3, 3, 20, 2, 30, 1, 26])
    X = np.column_stack([np.arange(100, dtype=np.float32), step])[np.random.default_rng(0).permutation(100)]
    split = split_in_order(X, np.zeros(100, np.int8), column=1)
    parts = [set(part[:, 1]) for part in (split.X_train, split.X_valid, split.X_test)]
    assert max(parts[0]) < min(parts[1])
    assert max(parts[1]) < min(parts[2])
    assert sorted(np.concatenate([split.X_train, split.X_valid, split.X_test])[:, 0]) == list(range(100))


# Checkerboard


def test_the_three_boards_are_of_the_papers_size_and_different():
    split = checkerboard(covariance=0.1, seed=0)
    for X, y in [(split.X_train, split.y_train), (split.X_valid, split.y_valid), (split.X_test, split.y_test)]:
        assert X.shape == (11_000, 2)
        assert np.bincount(y).tolist() == [10_000, 1000]
    points = np.concatenate([split.X_train, split.X_valid, split.X_test])
    assert len(np.unique(points, axis=0)) > 32_900


def test_a_seed_makes_the_same_boards_again_and_another_does_not():
    one, again, other = checkerboard(0.1, seed=5), checkerboard(0.1, seed=5), checkerboard(0.1, seed=6)
    np.testing.assert_array_equal(one.X_test, again.X_test)
    np.testing.assert_array_equal(one.y_test, again.y_test)
    assert not np.array_equal(one.X_test, other.X_test)


def test_the_best_possible_ranking_has_an_aucprc_of_about_0_655():
    scores = []
    for seed in range(10):
        split = checkerboard(0.1, seed)
        scores.append(average_precision_score(split.y_test, bayes_scores(split.X_test, 0.1, MINORITY_SHARE)))
    assert np.mean(scores) == pytest.approx(0.655, abs=0.012)
    assert 0.005 < np.std(scores) < 0.03


def test_the_bayes_scores_are_the_shares_that_come_true():
    """Points of which it is said that 20% to 30% are of the minority: so many are."""
    boards = [checkerboard(0.1, seed) for seed in range(5)]
    y = np.concatenate([board.y_test for board in boards])
    said = np.concatenate([bayes_scores(board.X_test, 0.1, MINORITY_SHARE) for board in boards])
    for low in np.arange(0, 1, 0.1):
        chosen = (said >= low) & (said < low + 0.1)
        if chosen.sum() > 300:
            assert y[chosen].mean() == pytest.approx(said[chosen].mean(), abs=0.05)


def test_between_two_fields_the_bayes_score_is_the_prior():
    between = np.float32([[1.5, 1.5]])  # the board's centre, which two fields of each class are equally far from
    assert bayes_scores(between, 0.1, 0.25) == pytest.approx([0.25])


def test_far_from_the_board_the_bayes_score_is_still_a_number():
    scores = bayes_scores(np.float32([[100, 100], [-50, 100]]), 0.05, MINORITY_SHARE)
    assert scores == pytest.approx([0, 1])
