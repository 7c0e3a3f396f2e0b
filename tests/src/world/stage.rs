//! Worlds for many stories.

use std::sync::Arc;

use super::World;

/// A world for stories that follow each other. It is replaced after some of them: each sweep looks
/// at the ledgers and queues of every organization that earlier stories have left behind.
#[derive(Default)]
pub struct Stage {
    world: Option<Arc<World>>,
    stories: u32,
}

/// Stories in one world.
const STORIES: u32 = 12;

impl Stage {
    /// The world of the next story.
    pub async fn world(&mut self) -> Arc<World> {
        let current = self.world.take().filter(|_| self.stories < STORIES);
        let world = match current {
            Some(world) => world,
            None => {
                self.stories = 0;
                Arc::new(World::unkind().await)
            }
        };
        self.stories += 1;
        self.world = Some(Arc::clone(&world));
        world
    }
}
