"""Uploading: a pipeline is created once, and gets a new version when its bytes are new."""

from dataclasses import dataclass

from gangplan.errors import AlreadyExists
from gangplan.kubeflow.answers import Entry
from gangplan.kubeflow.package import Package
from gangplan.kubeflow.server import Server


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """A version that is on the server.

    Attributes:
        pipeline: The pipeline.
        version: The version.
        is_new: Whether it was uploaded just now.
    """

    pipeline: Entry
    version: Entry
    is_new: bool


def publish(server: Server, package: Package, *, name: str | None = None) -> Published:
    """See that the server has a version with these bytes; what it has already is not uploaded again.

    Versions are named by their bytes, so the first one is uploaded to a pipeline that is created without any: the one
    that the server makes of a pipeline's file has the pipeline's name.

    Args:
        server: The server.
        package: The compiled pipeline.
        name: Name of the pipeline there; None: the one in the file.
    """
    title = name or package.title
    pipeline = server.pipeline(title)
    if pipeline is None:
        try:
            pipeline = server.create_pipeline(title, package.description)
        except AlreadyExists:  # somebody else was faster
            pipeline = server.pipeline(title)
            if pipeline is None:
                raise
    if (version := server.version(pipeline, package.version)) is not None:
        return Published(pipeline=pipeline, version=version, is_new=False)
    try:
        version = server.upload_version(pipeline, package.version, package.text, package.description)
    except AlreadyExists:
        version = server.version(pipeline, package.version)
        if version is None:
            raise
        return Published(pipeline=pipeline, version=version, is_new=False)
    return Published(pipeline=pipeline, version=version, is_new=True)
