"""The loaders read the published formats, and the stand-ins resemble what they stand for."""

from __future__ import annotations

import csv
import gzip
import zipfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import average_precision_score
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from paper.datasets import DATASETS, credit_fraud, kddcup99
from paper.datasets.checkerboard import MINORITY_SHARE, bayes_scores, checkerboard
from paper.datasets.dataset import Statistics
from paper.datasets.payment_simulation import FEATURES
from paper.datasets.record_linkage import COMPARISONS
from paper.datasets.stand_ins import payment_simulation_stand_in, record_linkage_stand_in

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
        "record-linkage-stand-in",
        "payment-simulation-stand-in",
    }


@pytest.mark.parametrize(
    ("name", "here", "there"),
    [("kddcup-dos-prb-10%", "95.31:1", "94.48:1"), ("kddcup-dos-r2l-10%", "347.65:1", "3448.82:1")],
)
def test_the_ten_percent_file_gives_its_own_imbalance_and_the_papers(name, here, there):
    assert here in DATASETS[name].differs
    assert there in DATASETS[name].differs


@pytest.mark.parametrize("name", ["record-linkage-stand-in", "payment-simulation-stand-in"])
def test_a_stand_in_says_that_it_says_nothing_about_the_published_data(name):
    assert "generated" in DATASETS[name].title
    assert "say nothing about the published" in DATASETS[name].differs


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


# Stand-ins


@pytest.fixture(scope="module")
def pairs():
    return record_linkage_stand_in(n_rows=200_000, n_positives=728)


@pytest.fixture(scope="module")
def payments():
    return payment_simulation_stand_in(n_rows=200_000, n_positives=258)


def under_sampled_score(model, X, y):
    """AUCPRC on half of the rows, trained on the other half's positives and as many of its negatives."""
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
    positives = np.flatnonzero(y_train)
    negatives = np.random.default_rng(0).choice(np.flatnonzero(y_train == 0), size=positives.size, replace=False)
    rows = np.concatenate([positives, negatives])
    return average_precision_score(y_test, model.fit(X_train[rows], y_train[rows]).predict_proba(X_test)[:, 1])


def score(model, X, y):
    """AUCPRC on half of the rows, trained on all of the other half."""
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
    return average_precision_score(y_test, model.fit(X_train, y_train).predict_proba(X_test)[:, 1])


@pytest.mark.parametrize("make", [record_linkage_stand_in, payment_simulation_stand_in])
def test_a_stand_in_is_the_same_every_time(make):
    one, other = make(n_rows=3000, n_positives=30), make(n_rows=3000, n_positives=30)
    np.testing.assert_array_equal(one[0], other[0])
    np.testing.assert_array_equal(one[1], other[1])


@pytest.mark.parametrize(
    ("make", "n_features"), [(record_linkage_stand_in, len(COMPARISONS)), (payment_simulation_stand_in, len(FEATURES))]
)
def test_a_stand_in_has_the_rows_and_positives_asked_for(make, n_features):
    X, y = make(n_rows=5000, n_positives=17)
    assert X.shape == (5000, n_features)
    assert (X.dtype, y.dtype) == (np.float32, np.int8)
    assert Statistics(len(y), int(y.sum())) == Statistics(5000, 17)


@pytest.mark.parametrize(
    ("name", "make"),
    [("record-linkage", record_linkage_stand_in), ("payment-simulation", payment_simulation_stand_in)],
)
def test_a_registered_stand_in_is_of_the_published_size(name, make):
    assert make.__defaults__ == (DATASETS[name].expected.n_rows, DATASETS[name].expected.n_positives)
    assert DATASETS[f"{name}-stand-in"].expected == DATASETS[name].expected


@pytest.mark.parametrize("name", ["record-linkage-stand-in", "payment-simulation-stand-in"])
def test_of_a_stand_in_no_more_rows_are_made_than_asked_for(name):
    X, y = DATASETS[name].few(5000, 17)
    assert Statistics(len(X), int(y.sum())) == Statistics(5000, 17)


def test_pairs_are_compared_by_similarity_of_names_and_equality_of_the_rest(pairs):
    X, _ = pairs
    names, rest = X[:, :4], X[:, 4:]
    assert set(np.unique(rest[~np.isnan(rest)])) == {0, 1}
    assert np.nanmin(names) >= 0
    assert np.nanmax(names) == 1
    between = (names[:, 0] > 0) & (names[:, 0] < 1)
    assert 0.1 < between.mean() < 0.5


def test_pairs_lack_as_much_as_the_published_ones(pairs):
    X, _ = pairs
    missing = dict(zip(COMPARISONS, np.isnan(X).mean(axis=0), strict=True))
    assert missing["cmp_fname_c2"] == pytest.approx(0.982, abs=0.002)
    assert missing["cmp_lname_c2"] == pytest.approx(0.9996, abs=0.0004)
    assert missing["cmp_plz"] == pytest.approx(0.0022, abs=0.0005)
    assert missing["cmp_lname_c1"] == missing["cmp_sex"] == 0
    assert 0 < missing["cmp_bd"] == missing["cmp_bm"] == missing["cmp_by"] < 0.001


def test_only_matches_agree_in_the_place_as_a_rule(pairs):
    X, y = pairs
    place = X[:, COMPARISONS.index("cmp_plz")]
    assert np.nanmean(place[y == 1]) > 0.8
    assert np.nanmean(place[y == 0]) < 0.02


def test_some_pairs_are_hard(pairs):
    X, y = pairs
    tree = under_sampled_score(DecisionTreeClassifier(max_depth=10, random_state=0), X, y)
    boosted = score(HistGradientBoostingClassifier(random_state=0), X, y)
    assert tree < 0.8
    assert 0.85 < boosted < 0.999


def test_frauds_are_transfers_and_withdrawals_only(payments):
    X, y = payments
    kind = X[:, FEATURES.index("type")]
    assert set(kind[y == 1]) == {1, 4}  # CASH_OUT and TRANSFER
    assert set(kind[y == 0]) == {0, 1, 2, 3, 4}


def test_most_but_not_all_frauds_and_some_honest_payments_drain_the_account(payments):
    X, y = payments
    amount, before, after = (X[:, FEATURES.index(name)] for name in ["amount", "oldbalanceOrg", "newbalanceOrig"])
    drained = (before == amount) & (after == 0)
    assert 0.8 < drained[y == 1].mean() < 1
    assert 0.5 < drained[y == 0].sum() / y.sum() < 2


def test_payments_stay_within_the_month_and_above_zero(payments):
    X, _ = payments
    step = X[:, FEATURES.index("step")]
    assert (step.min(), step.max()) == (1, 743)
    assert (X >= 0).all()
    assert not np.isnan(X).any()


def test_under_sampling_alone_does_not_find_the_frauds_though_they_can_be_found(payments):
    tree = under_sampled_score(DecisionTreeClassifier(max_depth=10, random_state=0), *payments)
    whole = score(DecisionTreeClassifier(max_depth=10, min_samples_leaf=5, random_state=0), *payments)
    assert tree < 0.2
    assert 0.4 < whole < 0.95


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
