"""What a matrix program is: its operators, shapes and text, and how a traced function becomes one."""
