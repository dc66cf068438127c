"""Softmax is PyTorch's at every temperature; what is cut is what the definitions cut; seeds draw; p - onehot."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn import functional as F

import engine
from engine.models import catalogue
from engine.models.softmax_temperature import DRAWS, LOGITS, VOCABULARY

MODEL = catalogue()["softmax_temperature"]


def run(shift: str = "largest", target: str = "sofa", logits=(), **inputs) -> engine.Trace:
    edits = [{"parameter": "logits", "index": [place], "value": value} for place, value in enumerate(logits)]
    request = {"options": {"shift": shift}, "target": target, "edits": edits, "inputs": inputs}
    return MODEL.trace(request)


def test_steps_are_the_ones_of_the_definition():
    trace = run()
    exponentials = [math.exp(z - 3) for z in LOGITS]
    assert trace["largest"].item() == 3
    assert trace["exponential"].tolist() == pytest.approx(exponentials, rel=1e-6)
    assert trace["probability"].tolist() == pytest.approx([e / sum(exponentials) for e in exponentials], rel=1e-6)
    entropy = -sum(p * math.log(p) for p in trace["probability"].tolist())
    assert trace["entropy"].item() == pytest.approx(entropy, rel=1e-6)


@pytest.mark.parametrize("temperature", [0.01, 0.5, 1, 2.5, 100])
def test_probabilities_are_pytorch_s_softmax(temperature):
    trace = run(temperature=temperature)
    scaled = torch.tensor(LOGITS) / temperature
    torch.testing.assert_close(trace["probability"], torch.softmax(scaled, -1), rtol=1e-6, atol=1e-7)
    torch.testing.assert_close(trace["prediction"], torch.log_softmax(scaled, -1), rtol=1e-6, atol=1e-6)
    assert trace["probability"].sum().item() == pytest.approx(1, rel=1e-6)
    assert trace.result["loss"] == pytest.approx(F.cross_entropy(scaled, torch.tensor(1)).item(), rel=1e-6)


def test_cold_is_one_word_and_hot_is_all_alike():
    cold, hot = run(temperature=0.01), run(temperature=100)
    assert cold["probability"].tolist() == pytest.approx([1, 0, 0, 0, 0, 0], abs=1e-40)
    assert cold["entropy"].item() == pytest.approx(0, abs=1e-40)
    assert hot["probability"].tolist() == pytest.approx([1 / 6] * 6, abs=0.005)
    assert hot["entropy"].item() == pytest.approx(math.log(6), abs=1e-3)


def test_entropy_rises_with_temperature():
    rows = [[temperature] for temperature in (0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10)]
    entropies = run(temperature=rows)["entropy"].flatten().tolist()
    assert entropies == sorted(entropies)


def test_without_the_maximum_taken_off_large_logits_overflow():
    assert torch.equal(
        run("none")["probability"], torch.exp(torch.tensor(LOGITS)) / torch.exp(torch.tensor(LOGITS)).sum()
    )
    large = [100 + z for z in LOGITS]
    torch.testing.assert_close(run(logits=large)["probability"], run()["probability"])
    broken = run("none", logits=large)
    assert broken["exponential"].isinf().all() and broken["probability"].isnan().all()
    assert run("none", temperature=0.01)["probability"].isnan().any()


@pytest.mark.parametrize(("k", "kept"), [(1, 1), (2, 2), (4, 4), (6, 6), (2.5, 3)])
def test_top_k_keeps_the_k_likeliest(k, kept):
    trace = run(top_k=k, top_p=1)
    assert trace["kept"].tolist() == [True] * kept + [False] * (6 - kept)
    assert trace["renormalised"].tolist() == pytest.approx(
        torch.softmax(torch.tensor(LOGITS)[:kept], -1).tolist() + [0] * (6 - kept), rel=1e-6
    )


@pytest.mark.parametrize(("p", "kept"), [(0.01, 1), (0.5, 1), (0.56, 2), (0.9, 4), (0.97, 5), (1, 6)])
def test_top_p_keeps_the_fewest_that_hold_p(p, kept):
    trace = run(top_k=6, top_p=p)
    assert int(trace["kept"].sum()) == kept
    shares = trace["probability"].sort(descending=True).values.cumsum(-1).tolist()
    assert shares[kept - 1] >= p - 1e-6 and all(share < p for share in shares[: kept - 1])


def test_words_of_equal_probability_stay_or_go_together():
    trace = run(logits=[2, 2, 1, 1, 0, 0], top_k=3, top_p=1)
    assert trace["rank"].tolist() == [0, 0, 2, 2, 4, 4]
    assert trace["kept"].tolist() == [True] * 4 + [False] * 2


def test_each_seed_draws_its_word_and_draws_it_again():
    rows = [[name] for name in DRAWS]
    trace = run(temperature=[[1.0]] * 16, draw=rows, top_k=6, top_p=1)
    cumulative = trace["probability"][0].double().cumsum(-1)
    for seed in range(16):
        u = torch.rand(1, generator=torch.Generator().manual_seed(seed))
        assert trace["u"][seed].item() == u.item()
        assert trace["sampled"][seed].item() == torch.searchsorted(cumulative, u.double(), right=True).item()
    assert len(set(trace["sampled"].flatten().tolist())) > 1
    again = run(temperature=[[1.0]] * 16, draw=rows, top_k=6, top_p=1)
    assert torch.equal(trace["sampled"], again["sampled"])


@pytest.mark.parametrize("k", [1, 2, 3])
def test_a_word_that_is_cut_is_never_drawn(k):
    trace = run(logits=[-1, 3, 0, 2, 1, 1.5], temperature=[[5.0]] * 16, draw=[[name] for name in DRAWS], top_k=k)
    drawn = trace["sampled"].flatten()
    assert trace["kept"].gather(-1, drawn.unsqueeze(-1)).all()


@pytest.mark.parametrize("target", VOCABULARY)
def test_gradient_of_the_logits_is_p_minus_onehot(target):
    trace = run(target=target)
    onehot = F.one_hot(torch.tensor(VOCABULARY.index(target)), 6)
    torch.testing.assert_close(trace["logits.grad"], trace["probability"] - onehot, rtol=1e-6, atol=1e-7)
    for place in (0, 1, 5):
        assert engine.verify(trace, "logits", (place,), what="gradient").ok


def test_the_two_parts_of_the_gradient_arrive_one_by_one():
    trace = run()
    parts = engine.explain(trace, "shifted", (1,), what="gradient").contributions
    assert [part.expression.value for part in parts] == [-1, pytest.approx(trace["probability"][1].item(), rel=1e-6)]


def test_at_another_temperature_the_gradient_is_divided_by_it():
    trace = run(temperature=2)
    onehot = torch.tensor([0, 1, 0, 0, 0, 0])
    torch.testing.assert_close(trace["logits.grad"], (trace["probability"] - onehot) / 2, rtol=1e-6, atol=1e-7)
    assert engine.verify(trace, "temperature", (0,), what="gradient").ok


def test_perplexity_is_the_exponential_of_the_loss(facts):
    logit = math.log((math.exp(2) - 1) / 5)
    trace = run(target="mat", logits=[0, *[logit] * 5])
    assert trace.result["loss"] == pytest.approx(2, abs=1e-6)
    assert trace["perplexity"].item() == pytest.approx(facts["machinery"]["perplexity"]["2.0 nats"], rel=1e-6)
    alike = run(logits=[0] * 6)
    assert alike["perplexity"].item() == pytest.approx(6, rel=1e-6)


def test_rows_of_temperatures_give_what_each_gives_alone():
    both = run(temperature=[[0.5], [2.0]])
    for row, temperature in enumerate((0.5, 2.0)):
        alone = run(temperature=temperature)
        for name in ("prediction", "kept", "sampled", "entropy"):
            torch.testing.assert_close(both[name][row], alone[name])


def test_an_update_makes_the_target_likelier():
    trace = MODEL.trace({"update": {"learning_rate": 0.5}})
    assert trace.result["after_update"]["loss"] < trace.result["loss"]
