//! The engine of the playground as WebAssembly: [`pleach_cli::playground::answer`] behind three exported functions.
//!
//! `scripts/build-wasm.sh` builds it for `wasm32-unknown-unknown`, and the web console loads it in a worker. A page calls
//! `pleach_input` with the length of the request, copies the request to the address that it gets, calls
//! `pleach_answer`, and reads as many bytes as that says at `pleach_output`. There are no imports: the module cannot
//! reach anything but its own memory.

use std::sync::{Mutex, MutexGuard, PoisonError};

static REQUEST: Mutex<Vec<u8>> = Mutex::new(Vec::new());
static RESPONSE: Mutex<Vec<u8>> = Mutex::new(Vec::new());

fn lock(bytes: &Mutex<Vec<u8>>) -> MutexGuard<'_, Vec<u8>> {
    bytes.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes room for a request of so many bytes; the address of its first byte.
#[expect(unsafe_code, reason = "the name of an export; no function of another library has it")]
#[unsafe(no_mangle)]
pub extern "C" fn pleach_input(length: usize) -> usize {
    let mut request = lock(&REQUEST);
    request.clear();
    request.resize(length, 0);
    request.as_mut_ptr().addr()
}

/// Handles the request; the length of the response.
#[expect(unsafe_code, reason = "as above")]
#[unsafe(no_mangle)]
pub extern "C" fn pleach_answer() -> usize {
    let request = std::mem::take(&mut *lock(&REQUEST));
    let response = pleach_cli::playground::answer(&request);
    let length = response.len();
    *lock(&RESPONSE) = response;
    length
}

/// The address of the response's first byte.
#[expect(unsafe_code, reason = "as above")]
#[unsafe(no_mangle)]
pub extern "C" fn pleach_output() -> usize {
    lock(&RESPONSE).as_ptr().addr()
}
