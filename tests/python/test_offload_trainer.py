# SPDX-License-Identifier: MIT
"""reel.offload() and reel.checkpoint() in the training loop of transformers: losses and weights are those without."""

import pytest

import reel

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("accelerate")


def train(tmp_path, change=lambda model: None):
    transformers.set_seed(1)
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(
        vocab_size=97, n_positions=64, n_embd=64, n_layer=3, n_head=4))
    change(model)
    data = [{"input_ids": row, "labels": row} for row in torch.randint(0, 97, (32, 64))]
    arguments = transformers.TrainingArguments(
        output_dir=str(tmp_path), per_device_train_batch_size=8, num_train_epochs=2, use_cpu=True, report_to=[],
        disable_tqdm=True, save_strategy="no", seed=1)
    loss = transformers.Trainer(model, arguments, train_dataset=data).train().training_loss
    return loss, model.state_dict()


def test_a_trainer_with_an_attached_model(tmp_path, monkeypatch):
    # transformers asks without a device, too, and the libraries of CUDA in ./check torch answer no question.
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
    wanted_loss, wanted = train(tmp_path)
    offload = reel.offload("8M", directory=tmp_path, min_bytes="4K")
    loss, weights = train(tmp_path, offload.attach)
    assert loss == wanted_loss and all(torch.equal(weights[name], wanted[name]) for name in wanted)
    stats = offload.pool.stats()
    assert stats["written_bytes"] > 0 and stats["peak_resident_bytes"] <= 8 << 20


def test_a_trainer_with_a_budget(tmp_path, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
    wanted_loss, wanted = train(tmp_path)
    chosen = []

    def change(model):
        model.config.use_cache = False
        chosen.append(reel.checkpoint(model, "16M", directory=tmp_path))

    loss, weights = train(tmp_path, change)
    assert loss == wanted_loss and all(torch.equal(weights[name], wanted[name]) for name in wanted)
    assert len(chosen[0].choices) == 3 and len(set(chosen[0].choices)) > 1
