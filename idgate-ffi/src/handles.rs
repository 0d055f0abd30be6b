//! Handles are names that look like pointers: a slot and its generation. They are looked up, never
//! followed, so that a stale, foreign or invented handle is an error and not undefined behaviour.

use std::any::Any;
use std::ptr;
use std::sync::{Arc, PoisonError, RwLock};

use crate::failure::{Failure, idgate_error};

#[cfg(not(target_pointer_width = "64"))]
compile_error!("a handle needs pointers of 64 bits: 32 for the slot, 32 for its generation");

/// A kind of object and the C type that names it.
pub(crate) trait Named: Any + Send + Sync {
    type C;
    /// Its name in texts.
    const NAME: &'static str;
}

/// Says which C type names a kind of object.
macro_rules! named {
    ($rust:ty => $c:ident, $name:literal) => {
        impl crate::handles::Named for $rust {
            type C = $c;
            const NAME: &'static str = $name;
        }
    };
}
pub(crate) use named;

named!(Failure => idgate_error, "error");

/// The object that a handle names. Only its own kind can be read from it.
type Object = Arc<dyn Any + Send + Sync>;

static SLOTS: RwLock<Slots> = RwLock::new(Slots { slots: Vec::new(), free: Vec::new() });

struct Slots {
    slots: Vec<Slot>,
    free: Vec<u32>,
}

struct Slot {
    /// Incremented when an object leaves the slot. A slot whose count is used up is not reused.
    generation: u32,
    object: Option<Object>,
}

/// A new handle of `object`; NULL if there is no room for another one.
pub(crate) fn make<T: Named>(object: T) -> *mut T::C {
    share(Arc::new(object))
}

/// The same for an object that another handle or object also keeps.
pub(crate) fn share<T: Named>(object: Arc<T>) -> *mut T::C {
    let mut slots = SLOTS.write().unwrap_or_else(PoisonError::into_inner);
    ptr::without_provenance_mut(slots.insert(object).unwrap_or(0))
}

/// The object of a handle.
pub(crate) fn find<T: Named>(handle: *const T::C) -> Result<Arc<T>, Failure> {
    let slots = SLOTS.read().unwrap_or_else(PoisonError::into_inner);
    let found = slots.get(handle.addr()).cloned();
    drop(slots);
    found.and_then(|object| object.downcast().ok()).ok_or_else(|| no_handle::<T>(handle))
}

/// Frees a handle. NULL is allowed.
pub(crate) fn free<T: Named>(handle: *mut T::C) -> Result<(), Failure> {
    if handle.is_null() {
        return Ok(());
    }
    // A handle of another kind stays: its owner did not free it.
    find::<T>(handle)?;
    let removed = SLOTS.write().unwrap_or_else(PoisonError::into_inner).remove(handle.addr());
    // Dropped here, outside the lock, unless another thread still works with it.
    removed.map(drop).ok_or_else(|| no_handle::<T>(handle))
}

/// How many handles callers have not freed yet.
pub(crate) fn in_use() -> usize {
    let slots = SLOTS.read().unwrap_or_else(PoisonError::into_inner);
    slots.slots.iter().filter(|slot| slot.object.is_some()).count()
}

fn no_handle<T: Named>(handle: *const T::C) -> Failure {
    let name = T::NAME;
    Failure::misuse(match handle.is_null() {
        true => format!("the {name} is missing"),
        false => format!("the handle is not a {name}, or it was freed"),
    })
}

impl Slots {
    fn insert(&mut self, object: Object) -> Option<usize> {
        let index = match self.free.pop() {
            Some(index) => index,
            None => {
                let index = u32::try_from(self.slots.len()).ok()?;
                self.slots.push(Slot { generation: 1, object: None });
                index
            }
        };
        let slot = self.slots.get_mut(usize::try_from(index).ok()?)?;
        slot.object = Some(object);
        let value = (u64::from(slot.generation) << 32) | u64::from(index);
        usize::try_from(value).ok()
    }

    fn get(&self, handle: usize) -> Option<&Object> {
        let (index, generation) = split(handle)?;
        let slot = self.slots.get(index)?;
        slot.object.as_ref().filter(|_| slot.generation == generation)
    }

    fn remove(&mut self, handle: usize) -> Option<Object> {
        self.get(handle)?;
        let (index, _) = split(handle)?;
        let slot = self.slots.get_mut(index)?;
        let object = slot.object.take();
        if let Some(next) = slot.generation.checked_add(1) {
            slot.generation = next;
            self.free.extend(u32::try_from(index).ok());
        }
        object
    }
}

/// Slot and generation.
fn split(handle: usize) -> Option<(usize, u32)> {
    let handle = u64::try_from(handle).ok()?;
    let generation = u32::try_from(handle >> 32).ok()?;
    Some((usize::try_from(handle & u64::from(u32::MAX)).ok()?, generation))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn object() -> Object {
        Arc::new(Failure::misuse("x"))
    }

    fn slots() -> Slots {
        Slots { slots: Vec::new(), free: Vec::new() }
    }

    #[test]
    fn a_freed_handle_is_never_valid_again() {
        let mut slots = slots();
        let first = slots.insert(object()).unwrap();
        assert!(slots.get(first).is_some());
        assert!(slots.remove(first).is_some());
        let second = slots.insert(object()).unwrap();
        assert_ne!(first, second);
        assert_eq!(slots.slots.len(), 1, "the slot is used again");
        assert!(slots.get(first).is_none());
        assert!(slots.remove(first).is_none());
        assert!(slots.get(second).is_some());
    }

    #[test]
    fn invented_handles_are_misuse() {
        let mut slots = slots();
        let good = slots.insert(object()).unwrap();
        for bad in [0, 1, good + 1, good ^ (1 << 32), usize::MAX, good | (1 << 63)] {
            assert!(slots.get(bad).is_none(), "{bad:x}");
            assert!(slots.remove(bad).is_none(), "{bad:x}");
        }
        assert!(slots.get(good).is_some());
    }

    #[test]
    fn a_slot_with_no_generation_left_is_not_reused() {
        let mut slots = slots();
        let first = slots.insert(object()).unwrap();
        slots.remove(first);
        slots.slots.get_mut(0).unwrap().generation = u32::MAX;
        let last = slots.insert(object()).unwrap();
        assert!(slots.remove(last).is_some());
        let next = slots.insert(object()).unwrap();
        assert_eq!(next & 0xffff_ffff, 1);
        assert!(slots.get(last).is_none());
    }

    #[test]
    fn a_handle_of_another_kind_is_misuse_and_stays() {
        use crate::trust::TrustHandle;
        let error = make(Failure::misuse("x"));
        assert!(find::<TrustHandle>(error.cast()).is_err());
        assert!(free::<TrustHandle>(error.cast()).is_err());
        assert!(find::<Failure>(error).is_ok());
        assert!(free::<Failure>(error).is_ok());
        assert!(free::<Failure>(error).is_err());
        assert!(free::<Failure>(ptr::null_mut()).is_ok());
        assert!(find::<Failure>(ptr::null()).is_err());
    }
}
