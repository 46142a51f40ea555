"""Five lines for the tests of any repository: one item of pytest for each case."""
from my_package import my_ring
from ringcraft.testing import attention_test

test_my_ring = attention_test(my_ring, arrays="torch", axes="bshd", ranks=4, layout="zigzag", causal=True)
