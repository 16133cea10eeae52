import { h, setAttributes } from './dom';

/** A number that steps through valid values. */
export interface Stepper {
  readonly element: HTMLElement;
  readonly show: (state: StepperState) => void;
}

interface StepperState {
  /** `8`, `Auto: 2`. */
  readonly text: string;
  readonly value: number;
  /** Of the value, for its tooltip. */
  readonly title: string;
  /** Whether it differs from what is planned. */
  readonly isChanged: boolean;
  /** What the neighbouring values would be; null: none is valid. */
  readonly fewer: string | null;
  /** Why there is none below. */
  readonly whyNoFewer?: string;
  readonly more: string | null;
}

/** A spin button with a button on either side; `onStep` hears -1 or 1. Arrow keys step too. */
export function stepper(label: string, onStep: (direction: 1 | -1) => void): Stepper {
  const side = (sign: string, direction: 1 | -1): HTMLButtonElement =>
    h('button', { class: 'stepper-button', type: 'button', tabindex: -1, 'aria-hidden': 'true', onclick: () => onStep(direction) }, sign);
  const [fewer, more] = [side('\u2212', -1), side('+', 1)];
  const value = h('span', { class: 'stepper-value', role: 'spinbutton', tabindex: 0, 'aria-label': label });
  value.addEventListener('keydown', (event) => {
    const direction = stepDirection(event.key);
    if (direction === null || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    if (!(direction === 1 ? more : fewer).disabled) onStep(direction);
  });
  const element = h(
    'div',
    { class: 'control stepper-control' },
    h('span', { class: 'control-label', 'aria-hidden': 'true' }, label),
    h('div', { class: 'stepper' }, fewer, value, more),
  );
  return {
    element,
    show: (state) => {
      value.textContent = state.text;
      setAttributes(value, { 'aria-valuenow': state.value, 'aria-valuetext': state.text, title: state.title });
      element.classList.toggle('changed', state.isChanged);
      for (const [button, target, why] of [
        [fewer, state.fewer, state.whyNoFewer],
        [more, state.more, undefined],
      ] as const) {
        button.disabled = target === null;
        setAttributes(button, { title: target ?? why ?? null });
      }
    },
  };
}

function stepDirection(key: string): 1 | -1 | null {
  if (key === 'ArrowUp' || key === 'ArrowRight' || key === '+') return 1;
  return key === 'ArrowDown' || key === 'ArrowLeft' || key === '-' ? -1 : null;
}
