//! The three functions CPython wants around a fork, and its allocator, found in the process that loaded
//! us.
//!
//! The library is not linked to libpython: it is loaded by an interpreter, whose own symbols are
//! in the global scope, whether they come from the executable or from a shared libpython.

use std::ffi::c_void;
use std::io;

/// `PyOS_BeforeFork` and its two counterparts.
#[derive(Clone, Copy)]
pub struct ForkHooks {
    before: unsafe extern "C" fn(),
    after_parent: unsafe extern "C" fn(),
    after_child: unsafe extern "C" fn(),
}

impl ForkHooks {
    /// Looks the functions up. Fails outside a CPython process.
    pub fn find() -> io::Result<ForkHooks> {
        Ok(ForkHooks {
            before: symbol(c"PyOS_BeforeFork")?,
            after_parent: symbol(c"PyOS_AfterFork_Parent")?,
            after_child: symbol(c"PyOS_AfterFork_Child")?,
        })
    }

    /// Forks with `fork` between the hooks. Only for a thread that holds the interpreter's lock,
    /// as every function called through `ctypes.PyDLL` does.
    pub fn around<E>(
        self,
        fork: impl FnOnce() -> Result<crate::Forked, E>,
    ) -> Result<crate::Forked, E> {
        // SAFETY: the lock is held (see above), which is all this function asks.
        unsafe { (self.before)() };
        let forked = fork();
        match forked {
            // SAFETY: called once, in the child of the fork that `before` announced.
            Ok(crate::Forked::Child) => unsafe { (self.after_child)() },
            // SAFETY: called once, in the parent, whether or not the fork succeeded.
            _ => unsafe { (self.after_parent)() },
        }
        forked
    }
}

/// `PyObject_Malloc`, for a thread that holds the interpreter's lock; nothing outside a CPython process.
pub(crate) fn object_malloc() -> Option<impl Fn(usize) -> *mut c_void> {
    let address = address(c"PyObject_Malloc").ok()?;
    // SAFETY: in CPython's stable API the name is a function `void *f(size_t)`.
    let found = unsafe {
        std::mem::transmute::<*mut c_void, unsafe extern "C" fn(usize) -> *mut c_void>(address)
    };
    // SAFETY: any size may be asked for, and the caller holds the lock (see above).
    Some(move |size| unsafe { found(size) })
}

fn address(name: &std::ffi::CStr) -> io::Result<*mut c_void> {
    // SAFETY: the name is a C string; RTLD_DEFAULT searches what is already loaded.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    if address.is_null() {
        return Err(io::Error::new(io::ErrorKind::NotFound, "not inside a CPython process"));
    }
    Ok(address)
}

fn symbol(name: &std::ffi::CStr) -> io::Result<unsafe extern "C" fn()> {
    let address = address(name)?;
    // SAFETY: the three names asked for here are all functions `void f(void)` of CPython's
    // stable API.
    Ok(unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn()>(address) })
}
