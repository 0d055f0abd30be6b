/* The header is C++ as well, and so is what its macro makes. */
#include "idgate.h"

int main() {
    idgate_answer answer = {};
    answer.size = sizeof answer;
    answer.body = IDGATE_STR("x");
    return answer.body.len == 1 ? 0 : 1;
}
