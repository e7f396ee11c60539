"""Several threads of a test at once."""

import threading

ROUNDS = 600


def together(*steps, rounds=ROUNDS):
    """Run each step `rounds` times in a thread of its own, all at once; raise the first error."""
    start = threading.Barrier(len(steps))
    errors = []

    def run(step):
        start.wait()
        try:
            for i in range(rounds):
                step(i)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(step,)) for step in steps]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
