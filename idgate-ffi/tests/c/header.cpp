/* The header and its macro are also valid C++. */
#include "idgate.h"

int main() {
    idgate_answer answer = {};
    answer.size = sizeof answer;
    answer.body = IDGATE_STR("x");
    return answer.body.len == 1 ? 0 : 1;
}
