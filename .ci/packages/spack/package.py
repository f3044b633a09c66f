"""shardscope for Spack: copied into a repository of packages as `shardscope/package.py`."""

from spack.package import *


class Shardscope(CargoPackage):
    """Terminal explorer for sharded training of large language models: memory, time and plans, before anything runs."""

    # The archive with all crates, which `.ci/release` makes: it builds without a network. A release adds its `sha256`.
    url = "file:///path/to/shardscope-0.3.0-vendored.tar.xz"

    def url_for_version(self, version):
        # Left to itself Spack drops "-vendored" from the address.
        return self.url.replace("0.3.0", str(version))

    license("MIT OR Apache-2.0")

    version("0.3.0")

    depends_on("c", type="build")
    depends_on("rust@1.88:", type="build")

    @run_after("install")
    def completions(self):
        program = Executable(self.prefix.bin.shardscope)
        for shell, name in (("bash", "shardscope"), ("zsh", "_shardscope"), ("fish", "shardscope.fish")):
            folder = join_path(self.prefix.share, "shardscope", "completions", shell)
            mkdirp(folder)
            with open(join_path(folder, name), "w") as file:
                program("completions", shell, output=file)
