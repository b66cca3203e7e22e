# The compiled part of py-psycopg.

from spack_repo.builtin.build_systems.python import PythonPackage

from spack.package import *


class PyPsycopgC(PythonPackage):
    """What of psycopg is in C, bound to libpq."""

    homepage = "https://psycopg.org/psycopg3/"
    pypi = "psycopg-c/psycopg_c-3.3.9.tar.gz"

    license("LGPL-3.0-only")

    version("3.3.9", sha256="591fcbcb40e089235a7f096b9e887e71ccae78fd337aba198d918e33707c5e01")

    depends_on("c", type="build")
    depends_on("python@3.10:", type=("build", "link", "run"))
    depends_on("py-setuptools@80:", type="build")
    depends_on("postgresql@10:", type=("build", "link", "run"))
