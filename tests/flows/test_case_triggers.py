"""What case.yaml says of runs that start by themselves, and what it may not say."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from flows.case import load_case
from flows.case_triggers import Notify, Release, Schedule
from flows.course import Course
from flows.faults import Faults, validate
from flows.plan import plan


@pytest.mark.parametrize(
    "cron",
    [
        "0 6 * * 1",
        "*/15 6-18 * * mon-fri",
        "5,10-20/5 0 1 jan sun",
        "0 0 31 12 7",
        "0 22-4 * nov-feb sat-sun",
    ],
)
def test_a_cron_line_is_taken_here_as_by_prefect(cron):
    from prefect.client.schemas.schedules import CronSchedule

    assert Schedule(cron=cron).timezone == "UTC"
    assert CronSchedule(cron=cron).cron == cron


@pytest.mark.parametrize(
    ("cron", "says"),
    [
        ("0 6 * *", "expected five fields"),
        ("61 * * * *", "minute: 61 is none from 0 to 59"),
        ("0 6 * * fri-mop", "weekday: fri-mop"),
        ("*/² * * * *", "minute"),
        ("a * * * *", "minute: a"),
        ("*/0 * * * *", r"minute: \*/0"),
        ("0 0 0 * *", "day: 0 is none from 1"),
        ("@daily", "expected five fields"),
    ],
)
def test_what_is_no_cron_line_is_told_with_its_field(cron, says):
    with pytest.raises(ValidationError, match=says):
        Schedule(cron=cron)


def test_a_time_zone_is_known():
    assert Schedule(cron="0 6 * * 1", timezone="Europe/Berlin")
    for zone in ("Berlin", "../../etc/passwd", ""):
        with pytest.raises(ValidationError, match="expected a time zone"):
            Schedule(cron="0 6 * * 1", timezone=zone)


def test_a_release_has_a_budget_of_its_own():
    assert Release(budget="20m").isolation == "auto"
    with pytest.raises(ValidationError, match="90s, 10m or 2h"):
        Release(budget="soon")


def test_an_address_in_the_case_is_refused_and_not_repeated():
    address = "https://hooks.example.org/CANARY"
    for given in ({"webhook": address}, {"webhook": [address]}, {"webhook": address, "on": 3}):
        with pytest.raises(Faults) as refused:
            validate(Notify, given, {}, "case.yaml")
        assert "CANARY" not in str(refused.value)
        assert "write the address into a file" in str(refused.value)
    with pytest.raises(Faults, match="state webhook"):
        validate(Notify, {"on": ["open"]}, {}, "case.yaml")


def test_a_release_asks_first_what_the_gate_asks():
    rows = plan(load_case(Path(__file__).parents[2], "digits"))
    order = Course(rows, release=True).order
    first = {"contract", "parity", "evaluate", "features", "predict-candidate"}
    last = {"inputs", "alter", "field", "mitigate", "probe", "since"}
    assert max(map(order.index, first)) < min(map(order.index, last))
    assert order[-3:] == ("diagnose", "gate", "report")
    assert sorted(order) == sorted(Course(rows).order)
