// SPDX-License-Identifier: MIT
// A loop of 20 steps, each of which the scheme reverses once. Its state has no regions.
include!("manual.rs");

use std::ffi::c_void;

#[repr(C)]
struct Action {
    flag: i32,
    iteration: i64,
    startiteration: i64,
    cpnum: i64,
}

#[repr(C)]
struct Functions {
    version: u32,
    init: unsafe extern "C" fn(*const reel_enzyme::Options, i64, u64) -> *mut c_void,
    next_action: unsafe extern "C" fn(*mut c_void, *mut Action),
    store_restore_set_nsteps: [usize; 3],
    finalize: unsafe extern "C" fn(*mut c_void),
}

fn main() {
    let table = &raw const reel_enzyme::reel_enzyme_scheme as *const Functions;
    let mut options: reel_enzyme::Options = unsafe { std::mem::zeroed() };
    let mut action = Action { flag: 0, iteration: 0, startiteration: 0, cpnum: 0 };
    let (mut turns, mut slots) = (0, 0);

    options.plan = c"binomial:3".as_ptr();
    unsafe {
        let state = ((*table).init)(&options, 20, 0);

        while action.flag < 6 {
            ((*table).next_action)(state, &mut action);
            match action.flag {
                1 => slots = slots.max(action.cpnum + 1),
                4 | 5 => turns += 1,
                _ => (),
            }
        }
        assert!(action.flag == 7);
        ((*table).finalize)(state);
    }
    println!("{turns} turns, {slots} slots");
}
