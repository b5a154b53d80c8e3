# title: installs a package with os.system
# expect: error ModuleNotFoundError
# says: installed
import os

os.system("pip install no-such-package-zz")
import no_such_package_zz
