"""prepare_data: a data set, checked and split, on the volume."""

import logging
from pathlib import Path
from typing import Any

from gangplan.documents import encode, write_atomic
from gangplan.steps.parameters import Checker
from gangplan.steps.process import step
from gangplan.steps.run import open_run, see_that_it_is_mounted

log = logging.getLogger(__name__)


@step
def prepare_data(
    *,
    run_id: str,
    job_name: str,
    source: str,
    split: str,
    seed: int,
    volume: str,
    dataset: str,
    metadata: dict[str, Any],
) -> None:
    """Load the data set, split it, write it to the run's folder and describe it.

    Args:
        run_id: Id of the run.
        job_name: Readable name of the job.
        source: ``digits``, a folder of IDX files, or an ``.npz`` file.
        split: Training and test images, ``"8000/2000"``, for a source that is one set; empty: four to one.
        seed: Seed of the split.
        volume: Where pods mount the shared volume; on one machine not looked at.
        dataset: Path of the artifact to write: a JSON object that says where the data lie and what they are.
        metadata: Metadata of the artifact, filled with the same facts.

    Raises:
        InvalidInput: The data set is unknown or broken; every problem is named.
        StoreError: The volume cannot be written.
    """
    from gangplan.train.data import load, save_npz

    check = Checker()
    whole_seed = check.whole("data_seed", seed, at_least=0)
    check.raise_if_any()
    see_that_it_is_mounted(volume)
    run = open_run(run_id, job_name, volume)
    data = load(source, split=split or None, seed=whole_seed)
    save_npz(data, run.data)
    facts = {
        "name": data.name,
        "path": str(run.data),
        "digest": f"sha256:{data.digest}",
        "train_images": len(data.train_labels),
        "test_images": len(data.test_labels),
        "classes": data.classes,
        "image_shape": "x".join(map(str, data.image_shape)),
    }
    metadata.update(facts)
    write_atomic(Path(dataset), encode(facts, indent=2))
    log.info("%s: %s images to train, %s to test → %s", data.name, *list(facts.values())[3:5], run.data)
