// Nothing but its headers, which the tests share: see CMakeLists.txt.
int main() {}
