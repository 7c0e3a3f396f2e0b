//! Worlds for many stories.

use std::sync::Arc;

use super::World;

/// A world for stories that follow each other. It is replaced after some of them: each sweep reads
/// at the ledgers and queues of every organization that earlier stories have left behind.
#[derive(Default)]
pub struct Stage {
    own: Vec<(&'static str, String)>,
    world: Option<Arc<World>>,
    stories: u32,
}

/// Stories in one world.
const STORIES: u32 = 12;

impl Stage {
    /// Worlds with these settings over their own.
    #[must_use]
    pub fn with(own: &[(&'static str, String)]) -> Stage {
        Stage {
            own: own.to_vec(),
            ..Stage::default()
        }
    }

    /// The world of the next story.
    pub async fn world(&mut self) -> Arc<World> {
        let current = self.world.take().filter(|_| self.stories < STORIES);
        let world = match current {
            Some(world) => world,
            None => {
                self.stories = 0;
                Arc::new(World::unkind(&self.own).await)
            }
        };
        self.stories += 1;
        self.world = Some(Arc::clone(&world));
        world
    }
}
