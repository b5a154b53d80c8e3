# title: installs a package with os.system
# expect: error ModuleNotFoundError
# says: installed
# agent: refuse
import os

os.system("pip install no-such-package-zz")
import no_such_package_zz
