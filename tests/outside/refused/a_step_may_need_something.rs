//! E0004: a program that forgets the status list does not compile.
pub fn reply(step: idgate_core::Step) -> idgate_core::HttpReply {
    match step {
        idgate_core::Step::Done(decision) => decision.reply(),
    }
}
