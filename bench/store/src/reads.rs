//! Reads: ranges of a cached store, point reads of a large one, and memory per object.

use std::{
    hint::black_box,
    path::Path,
    time::{Duration, Instant},
};

use pleach_store::{Expect, Key, Op, RangeQuery, Store, contract::TestRng, contract::block_on};
use pleach_store_log::{LogStore, Options};

use crate::{cpu, median, memory, report};

fn fill(store: &LogStore, objects: usize, size: usize) {
    for chunk in 0..objects.div_ceil(1_000) {
        let ops = (chunk * 1_000..objects.min((chunk + 1) * 1_000))
            .map(|n| Op::put(name(n), Expect::Absent, vec![b'x'; size]));
        block_on(store.commit(ops.collect())).expect("a commit");
    }
    // What is left is what exists.
    let current = block_on(store.revision()).expect("a revision");
    loop {
        block_on(store.compact(current)).expect("a compaction");
        if block_on(store.stats()).expect("figures").history == 0 {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn name(n: usize) -> String {
    format!("/registry/stable.example.com/crontabs/namespace-{:04}/object-{n:07}", n / 1_000)
}

/// Ten thousand objects of 2 KB, again and again.
pub(crate) fn ranges(room: &Path) {
    const OBJECTS: usize = 10_000;
    const SIZE: usize = 2_048;
    let store = Options::new().sync(false).open(room.join("ranges")).expect("a store");
    fill(&store, OBJECTS, SIZE);
    let bytes = (OBJECTS * SIZE) as f64;
    let (mut handed, mut copied, mut paged) = (Vec::new(), Vec::new(), Vec::new());
    let mut buffer = Vec::with_capacity(OBJECTS * SIZE);
    for _ in 0..40 {
        let begin = Instant::now();
        let range = block_on(store.range(RangeQuery::prefix("/registry/"))).expect("a range");
        handed.push(bytes / begin.elapsed().as_secs_f64() / 1e9);
        assert_eq!(range.items.len(), OBJECTS);
        buffer.clear();
        let begin = Instant::now();
        let range = block_on(store.range(RangeQuery::prefix("/registry/"))).expect("a range");
        for item in &range.items {
            buffer.extend_from_slice(&item.value);
        }
        black_box(&buffer);
        copied.push(bytes / begin.elapsed().as_secs_f64() / 1e9);
        let begin = Instant::now();
        let page = block_on(store.range(RangeQuery::prefix("/registry/").limit(500))).expect("a page");
        paged.push(begin.elapsed().as_secs_f64() * 1e6);
        assert_eq!(page.remaining as usize, OBJECTS - 500);
    }
    let found = format!("{:.1} GB/s; copied out {:.1} GB/s", median(&mut handed), median(&mut copied));
    report("range of 10,000 objects of 2 KB", &found, "at least 3 GB/s");
    report("page of 500 of them, the rest counted", &format!("{:.0} µs", median(&mut paged)), "");
}

/// Many objects: memory, point reads, pages, opening again.
pub(crate) fn large_store(room: &Path, objects: usize) {
    const SIZE: usize = 512;
    let options = || Options::new().sync(false).checkpoint_bytes(u64::MAX);
    let store = options().open(room.join("large")).expect("a store");
    fill(&store, objects, SIZE);
    store.close();
    let begin = Instant::now();
    let store = options().open(room.join("large")).expect("a store");
    let opening = begin.elapsed().as_secs_f64();
    let current = block_on(store.revision()).expect("a revision");
    block_on(store.compact(current)).expect("a compaction");
    let stats = block_on(store.stats()).expect("figures");
    let mut rng = TestRng::new(1);
    let keys: Vec<Key> = (0..200_000).map(|_| Key::new(name(rng.below(objects as u64) as usize))).collect();
    let mut each: Vec<f64> = (0..5)
        .map(|_| {
            let begin = cpu::of_thread();
            for key in &keys {
                black_box(store.try_get(key).expect("from memory").expect("a read").expect("the key"));
            }
            (cpu::of_thread() - begin) / keys.len() as f64
        })
        .collect();
    let found = format!("{:.0} ns of processor time, of {objects} objects", median(&mut each));
    report("point read", &found, "under 2 µs");
    let mut pages: Vec<f64> = (0..200)
        .map(|_| {
            let query = RangeQuery::prefix("/registry/").after(&keys[rng.below(1_000) as usize]).limit(500);
            let begin = Instant::now();
            black_box(block_on(store.range(query)).expect("a page"));
            begin.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    report("page of 500 of them, the rest counted", &format!("{:.0} µs", median(&mut pages)), "");
    let found = format!("{opening:.2} s, {:.0} MB of log", stats.disk_bytes as f64 / 1e6);
    report("open it again, by replay", &found, "");
    store.checkpoint().expect("a checkpoint");
    store.close();
    let begin = Instant::now();
    drop(options().open(room.join("large")).expect("a store"));
    report("open it again, from a checkpoint", &format!("{:.2} s", begin.elapsed().as_secs_f64()), "");
    // In a process of its own: this one's memory is full of holes by now.
    let named = (0..objects).map(|n| name(n).len()).sum::<usize>() as f64;
    let beyond =
        (memory::of_opening(&room.join("large")) - named - stats.value_bytes as f64) / objects as f64;
    let found = format!("{beyond:.0} bytes, by resident size");
    report("memory per object beyond key and value", &found, "printed");
}
