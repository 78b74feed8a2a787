// How long to wait after failures: twice as long after each, never longer than a most, and of its
// upper half at random, so that the tabs of an installation do not come back at one moment.

export function waitAfter(failures, first, longest, chance = Math.random()) {
  const whole = Math.min(longest, first * 2 ** Math.max(0, failures - 1));
  return whole * (0.5 + chance / 2);
}
