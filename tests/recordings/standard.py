"""The cases that every runner has, made from the four kinds of test files of its toy project."""

from record import Case


class Toy:
    """A runner with a project: two tests pass, `multiplies` fails, `divides` is skipped, and one file cannot be
    loaded. Each kind stands in files of its own, so that a case takes the kinds that it needs."""

    def __init__(self, folder, runner, version, base, passing, failing, skipping, broken):
        self.folder, self.runner, self.version, self.base = folder, runner, version, base
        self.passing, self.failing, self.skipping, self.broken = passing, failing, skipping, broken

    def case(self, name, command, files, counts=(0, 0, 0), names=(), env=None, hidden=()):
        return Case(self.folder, f"{self.runner}-{name}", self.version, self.base | files, command, counts, names,
                    env=env, hidden=hidden)

    def standard(self, command, failed, colours=None, none_selected=None, overrides=None, prepare=(), env=None,
                 hidden=None):
        """`failed` is the name of the failing test; an override replaces counts and names of a case, or leaves
        it out (None); `hidden` lists the counts that a case's output does not show."""
        mixed = self.passing | self.failing | self.skipping
        cases = {
            "green": (command, self.passing, (2, 0, 0), []),
            "red": (command, self.passing | self.failing, (2, 1, 0), [failed]),
            "skipped": (command, self.passing | self.skipping, (2, 0, 1), []),
            "mixed": (command, mixed, (2, 1, 1), [failed]),
            "none-found": (command, {}, (0, 0, 0), []),
            "crashed": (command, self.broken, (0, 0, 0), []),
        }
        if colours:
            cases["colours"] = (colours, mixed, (2, 1, 1), [failed])
        if none_selected:
            cases["none-selected"] = (none_selected, self.passing, (0, 0, 0), [])
        made = []
        for name, (run, files, counts, names) in cases.items():
            if name in (overrides or {}):
                if overrides[name] is None:
                    continue
                counts, names = overrides[name]
            made.append(self.case(name, [*prepare, run] if prepare else run, files, counts, names, env,
                                  (hidden or {}).get(name, ())))
        return made
