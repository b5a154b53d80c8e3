//! Filling the gaps of a process's heaps before it is forked many times.
//!
//! After its imports an interpreter's heaps are full of small gaps. A fork that allocates is given these
//! first, each on another page, and the kernel copies every page of them. Once the gaps are taken, what a
//! fork allocates lies together behind them. Nothing here is ever given back: it was free and resident, and
//! all forks share it.

use std::ffi::c_void;

use crate::cpython;

/// The most blocks that are taken of one size, for allocators that work in another way.
const MOST: usize = 1 << 15;
/// Less than what the C library takes from the kernel by itself.
const LARGE: usize = 120 << 10;
/// Up to here the C library keeps chunks of every size apart.
const SMALL: usize = 1032;

/// Takes what is free between other blocks. For a thread that holds the interpreter's lock; outside an
/// interpreter only the C library's heap is filled.
pub fn fill_gaps() {
    if let Some(allocate) = cpython::object_malloc() {
        // What is no longer small comes from the C library.
        for size in (16..=512).step_by(16) {
            fill_pools(&allocate, size);
        }
    }
    fill_heap();
}

/// CPython takes small blocks of one size from pools. A new pool begins with its header on a page of its
/// own, and gives its blocks in their order.
fn fill_pools(allocate: &impl Fn(usize) -> *mut c_void, size: usize) {
    const HEADER: usize = 48;
    const PAGE: usize = 4096;
    let mut last = 0;
    let mut in_order = 0;
    for _ in 0..MOST {
        let block = allocate(size) as usize;
        in_order = match block {
            0 => return,
            _ if block % PAGE == HEADER => 1,
            _ if in_order > 0 && block == last + size => in_order + 1,
            _ => 0,
        };
        if in_order == 3 {
            return;
        }
        last = block;
    }
}

/// The C library has gaps of all sizes: the large ones are taken first, and what is left of them after
/// that.
fn fill_heap() {
    let end = malloc(LARGE);
    free(end);
    let large = (1..7).map(|shift| LARGE >> shift);
    let small = (24..=SMALL).rev().step_by(16);
    for size in large.chain(small) {
        for _ in 0..MOST {
            let chunk = malloc(size);
            if chunk.is_null() {
                return;
            }
            if chunk >= end {
                // The end of the heap has no gaps. Larger chunks become part of it again.
                if size > SMALL {
                    free(chunk);
                }
                break;
            }
        }
    }
}

fn malloc(size: usize) -> *mut c_void {
    // SAFETY: any size may be asked for.
    unsafe { libc::malloc(size) }
}

fn free(chunk: *mut c_void) {
    // SAFETY: `chunk` came from `malloc` above, and nobody else knows it.
    unsafe { libc::free(chunk) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_allocated_afterwards_lies_together() {
        // Every second one is a gap.
        let blocks: Vec<_> = (0..2000).map(|_| malloc(200)).collect();
        for gap in blocks.iter().step_by(2) {
            free(*gap);
        }
        let pages = || {
            let taken: Vec<_> = (0..100).map(|_| malloc(200) as usize / 4096).collect();
            taken.into_iter().collect::<std::collections::BTreeSet<_>>().len()
        };
        assert!(pages() >= 9, "there were no gaps");
        fill_gaps();
        // 100 chunks of 208 bytes.
        assert!(pages() <= 7);
    }
}
