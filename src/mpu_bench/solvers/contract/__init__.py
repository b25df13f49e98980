"""What every solver must hold to, the project's own and those of a user: `checks`, on the small problems of `toys`."""
