//! Names that are never resolved, for tests.

use std::sync::{Arc, Condvar, Mutex};

use crate::egress::Egress;

/// A resolver that does not answer until this value is dropped, and then knows no name. A thread
/// that waited forever would keep a failing test from ending.
#[derive(Default)]
pub struct Silence(Arc<Lasting>);

#[derive(Default)]
struct Lasting {
    is_over: Mutex<bool>,
    told: Condvar,
}

impl Silence {
    /// An `Egress` whose names are never resolved.
    pub fn egress(&self) -> Egress {
        let lasting = self.0.clone();
        let look_up = move |_: &str, _: u16| {
            let is_over = lasting.is_over.lock().unwrap();
            drop(lasting.told.wait_while(is_over, |is_over| !*is_over).unwrap());
            Ok(Vec::new())
        };
        Egress::new(Vec::new(), None).unwrap().looking_up(look_up)
    }

    pub fn end(&self) {
        *self.0.is_over.lock().unwrap() = true;
        self.0.told.notify_all();
    }
}

impl Drop for Silence {
    fn drop(&mut self) {
        self.end();
    }
}
