# Spack has psycopg 2 alone.

from spack_repo.builtin.build_systems.python import PythonPackage

from spack.package import *


class PyPsycopg(PythonPackage):
    """PostgreSQL from Python; libpq is reached through py-psycopg-c."""

    homepage = "https://psycopg.org/psycopg3/"
    pypi = "psycopg/psycopg-3.3.9.tar.gz"

    license("LGPL-3.0-only")

    version("3.3.9", sha256="87c1d85c3e0e88e811d3c0b3808f947bd967c6faf34af6cd86fd021f77793d6c")

    depends_on("python@3.10:", type=("build", "run"))
    depends_on("py-setuptools@80.3.1:", type="build")
    depends_on("py-typing-extensions@4.6:", when="^python@:3.12", type=("build", "run"))
    depends_on("py-psycopg-c@3.3.9", when="@3.3.9", type="run")
