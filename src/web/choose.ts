import { formatCount } from '../core/format';
import { isCount } from '../host/sessions/scenario-choices';

interface Choice<T> {
  readonly label: string;
  readonly what?: string;
  readonly value: T;
}

/** Asks for one of several things, in a dialog; null where it is closed. */
export function choose<T>(title: string, choices: readonly Choice<T>[]): Promise<T | null> {
  const { dialog, close } = openDialog(title);
  return new Promise((resolve) => {
    let picked: T | null = null;
    const list = document.createElement('ul');
    list.append(
      ...choices.map(({ label, what, value }) => {
        const item = document.createElement('li');
        const button = document.createElement('button');
        button.type = 'button';
        button.textContent = label;
        button.addEventListener('click', () => {
          picked = value;
          dialog.close();
        });
        item.append(button, ...(what === undefined ? [] : [` ${what}`]));
        return item;
      }),
    );
    dialog.append(list, close);
    dialog.addEventListener('close', () => {
      dialog.remove();
      resolve(picked);
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

/**
 * Asks for a whole number from 1 to `maximum`, in a dialog; null where it is closed.
 * @param value what the field has first.
 */
export function askCount(title: string, value: number, maximum: number): Promise<number | null> {
  const { dialog, close } = openDialog(title);
  const range = `A whole number from 1 to ${formatCount(maximum)}`;
  const form = document.createElement('form');
  form.method = 'dialog';
  form.noValidate = true;
  const field = document.createElement('input');
  field.inputMode = 'numeric';
  field.value = String(value);
  field.setAttribute('aria-label', title);
  const problem = document.createElement('p');
  problem.id = 'choose-problem';
  problem.setAttribute('role', 'status');
  problem.textContent = range;
  field.setAttribute('aria-describedby', problem.id);
  const confirm = document.createElement('button');
  confirm.textContent = 'OK';
  form.append(field, problem, confirm, close);
  dialog.append(form);
  return new Promise((resolve) => {
    let answer: number | null = null;
    form.addEventListener('submit', (event) => {
      if (isCount(field.value, maximum)) answer = Number(field.value);
      else {
        event.preventDefault();
        field.setAttribute('aria-invalid', 'true');
        problem.textContent = `${range}, not ${field.value.trim() === '' ? 'nothing' : field.value.trim().slice(0, 40)}`;
      }
    });
    dialog.addEventListener('close', () => {
      dialog.remove();
      resolve(answer);
    });
    document.body.append(dialog);
    dialog.showModal();
    field.select();
  });
}

/** A dialog with a title, and the button that closes it. */
function openDialog(title: string): { readonly dialog: HTMLDialogElement; readonly close: HTMLButtonElement } {
  const dialog = document.createElement('dialog');
  dialog.className = 'web-choose';
  const heading = document.createElement('h2');
  heading.id = 'choose-title';
  heading.textContent = title;
  dialog.setAttribute('aria-labelledby', heading.id);
  const close = document.createElement('button');
  close.type = 'button';
  close.textContent = 'Cancel';
  close.addEventListener('click', () => dialog.close());
  dialog.append(heading);
  return { dialog, close };
}

/** Has the browser ask for a file; null for none. */
export function pickFile(): Promise<File | null> {
  const input = document.createElement('input');
  input.type = 'file';
  return new Promise((resolve) => {
    input.addEventListener('change', () => resolve(input.files?.[0] ?? null));
    input.addEventListener('cancel', () => resolve(null));
    input.click();
  });
}
