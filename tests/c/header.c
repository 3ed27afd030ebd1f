// Nothing but the header: it stands alone.
#include <holdfast/c.h>

int main(void) { return hf_c_version() == HOLDFAST_C_VERSION ? 0 : 1; }
