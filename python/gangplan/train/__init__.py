"""Training programs that run in the replicas of a job; the only place with TensorFlow at work (extra ``train``)."""

from gangplan.extras import require

require("train")
