// Keeps the figures of runs in progress up to date, from the server's stream of events. Text from
// outside only becomes text nodes. Without this script a page shows what it was sent with.
const PERCENT = 100;

function three(value) {
    const size = Math.abs(value);
    return value.toFixed(size < 9.995 ? 2 : size < 99.95 ? 1 : 0);
}

function seconds(value) {
    if (!(value > 0)) return '-';
    if (value < 1) return `${three(value * 1000)} ms`;
    if (value < 60) return `${three(value)} s`;
    const minutes = Math.floor(value / 60), hours = Math.floor(minutes / 60);
    if (hours >= 48) return `${Math.floor(hours / 24)} d ${hours % 24} h`;
    if (hours > 0) return `${hours} h ${String(minutes % 60).padStart(2, '0')} min`;
    return `${minutes} min ${Math.floor(value % 60)} s`;
}

function bytes(value) {
    return value > 0 ? `${three(value / 2 ** 30)} GiB` : '-';
}

function share(value) {
    return typeof value === 'number' ? `${three(value * PERCENT)} %` : '-';
}

function texts(run) {
    const step = run.step.toLocaleString('en-US');
    const [state, verdict] = run.state.split(': ');  // "running", "ended: ok"
    return {
        state,
        verdict,
        step: run.steps > 0 ? `${step}/${run.steps.toLocaleString('en-US')}` : step,
        time: seconds(run.step_time_s),
        rate: run.throughput > 0 ? `${three(run.throughput)} samples/s` : '-',
        eta: seconds(run.eta_s),
        memory: bytes(run.memory),
        exposed: share(run.exposed),
        event: run.last_event,
    };
}

function show(place, run) {
    const all = texts(run);
    for (const cell of place.querySelectorAll('[data-field]')) {
        const text = all[cell.dataset.field];
        if (text !== undefined && cell.textContent !== text) cell.textContent = text;
    }
}

const unknown = new Set();

function onRun(event) {
    const run = JSON.parse(event.data);
    const place = document.querySelector(`[data-run="${CSS.escape(run.id)}"]`);
    if (place) return show(place, run);
    const news = document.getElementById('news');
    if (!news || unknown.has(run.id)) return undefined;
    unknown.add(run.id);
    const link = document.createElement('a');
    link.href = `/run/${encodeURIComponent(run.id)}`;
    link.textContent = `run ${run.id}`;
    news.append(unknown.size > 1 ? ', ' : 'In progress, and not in this table: ', link);
    news.hidden = false;
    return undefined;
}

const source = new EventSource('/events');  // connects again by itself
document.documentElement.dataset.connected = 'no';  // so far
const now = document.getElementById('now');
source.addEventListener('run', onRun);
source.addEventListener('open', () => {
    document.documentElement.dataset.connected = 'yes';
    if (now) now.classList.remove('lost');
});
source.addEventListener('error', () => {
    document.documentElement.dataset.connected = 'no';
    if (now) now.classList.add('lost');
});
