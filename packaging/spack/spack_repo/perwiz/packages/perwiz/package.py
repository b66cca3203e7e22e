# A recipe for Spack 1.0 or later:
#   spack repo add packaging/spack/spack_repo/perwiz
#   spack install --no-checksum perwiz
# The second looks for perwiz-VERSION.tar.gz of `scripts/wheel` on a mirror: `spack mirror add`.

from spack_repo.builtin.build_systems.python import PythonPackage

from spack.package import *


class Perwiz(PythonPackage):
    """What-if performance prediction for MPI programs from one recorded run: how fast would the
    program be, if this wait were gone, this loop balanced, this network bought?"""

    pypi = "perwiz/perwiz-0.1.0.tar.gz"

    license("BSD-3-Clause", checked_by="perwiz")

    # A release: sha256 of its archive, and homepage and maintainers above.
    version("0.1.0")

    variant("recorder", default=True, description="Build what records programs of the MPI")
    variant("otf2", default=True, description="Read and write OTF2")
    variant("spread", default=False, description="Let mpiexec spread perwiz correct (mpi4py)")
    variant("jobs", default=False, description="Keep job records on a PostgreSQL server")

    depends_on("c", type="build")

    with default_args(type="build"):
        depends_on("py-meson-python@0.18:")
        depends_on("meson@1.4:")
        depends_on("ninja")
        depends_on("py-cython@3.2:")
        depends_on("py-argparse-manpage@4.5:")

    with default_args(type=("build", "run")):
        depends_on("python@3.11:")
        depends_on("py-numpy@2:")
        depends_on("py-simpy@4.1:")
        depends_on("py-zstandard@0.22:")
        depends_on("py-msgspec@0.19:")
        depends_on("py-matplotlib@3.8:")
        depends_on("py-shtab@1.13:")
        depends_on("py-mpi4py@4:", when="+spread")
        depends_on("py-sqlalchemy@2:", when="+jobs")
        depends_on("py-psycopg@3.1:", when="+jobs")

    depends_on("mpi", when="+recorder", type=("build", "link", "run"))
    depends_on("otf2@3:", when="+otf2", type="run")

    @run_after("install", when="+recorder")
    def build_recorder(self):
        """Build what `perwiz record` puts in front of programs of this MPI."""
        python("-m", "perwiz", "record", "--build", self.prefix, "--mpicc", self.spec["mpi"].mpicc)

    def setup_run_environment(self, env: EnvironmentModifications) -> None:
        if self.spec.satisfies("+recorder"):
            env.prepend_path("PERWIZ_RECORDERS", self.prefix)
        if self.spec.satisfies("+otf2"):
            env.prepend_path("LD_LIBRARY_PATH", self.spec["otf2"].prefix.lib)
