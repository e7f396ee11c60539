"""What tests need to know of the Python that runs them."""

import sysconfig

FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
